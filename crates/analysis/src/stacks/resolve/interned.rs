//! Modules and frames, each once.

use std::collections::BTreeMap;

use crate::stacks::profile::{Cause, Frame, Module, Naming};

#[derive(Debug, Default)]
pub(super) struct Interned {
    modules: Vec<Module>,
    frames: Vec<Frame>,
    module_places: BTreeMap<(String, bool), u32>,
    frame_places: BTreeMap<Frame, u32>,
}

impl Interned {
    pub(super) fn modules(&self) -> &[Module] {
        &self.modules
    }

    pub(super) fn frames(&self) -> &[Frame] {
        &self.frames
    }

    pub(super) fn module(&mut self, name: &str, kernel: bool) -> u32 {
        let key = (name.to_owned(), kernel);
        if let Some(place) = self.module_places.get(&key) {
            return *place;
        }
        let place = self.modules.len() as u32;
        self.modules.push(Module { name: key.0.clone(), kernel, build_id: None });
        self.module_places.insert(key, place);
        place
    }

    /// Which build a module is, once its file was read.
    pub(super) fn identify(&mut self, module: u32, build_id: Option<&str>) {
        if let Some(module) = self.modules.get_mut(module as usize) {
            module.build_id = build_id.map(str::to_owned);
        }
    }

    /// The frame for what no one knows.
    pub(super) fn unknown(&mut self, cause: Cause, module: u32) -> u32 {
        self.frame(Frame::of(cause.name().to_owned(), Naming::Unknown(cause), module))
    }

    pub(super) fn frame(&mut self, frame: Frame) -> u32 {
        if let Some(place) = self.frame_places.get(&frame) {
            return *place;
        }
        let place = self.frames.len() as u32;
        self.frames.push(frame.clone());
        self.frame_places.insert(frame, place);
        place
    }
}
