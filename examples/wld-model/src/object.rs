//! The data model, as libamxd keeps it: a tree of objects, each with a list of parameters that is walked, name by name, to
//! find one; an instance asks its template's parameter of the same name what is to be done at a reading or a writing.

use std::{
    collections::{LinkedList, VecDeque},
    ops::RangeInclusive,
};

use crate::{
    path::Path,
    variant::{Entry, Variant, strcmp},
};

pub(crate) type ObjectId = usize;

pub(crate) type Fault = &'static str;
pub(crate) const NO_OBJECT: Fault = "no such object";
const NO_PARAMETER: Fault = "no such parameter";
const NOT_ALLOWED: Fault = "not allowed";

/// What a parameter is, bit by bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attribute {
    Instance,
    ReadOnly,
    Volatile,
    Private,
    Key,
}

#[derive(Debug)]
pub(crate) struct Param {
    name: String,
    attributes: [bool; 5],
    pub(crate) value: Variant,
    /// Where a new value must lie; an instance has its template's checks.
    pub(crate) checks: LinkedList<RangeInclusive<i64>>,
}

impl Param {
    pub(crate) fn new(name: &str, value: Variant, attributes: &[Attribute]) -> Self {
        let mut set = [false; 5];
        attributes.iter().for_each(|attribute| set[*attribute as usize] = true);
        Self { name: name.to_owned(), attributes: set, value, checks: LinkedList::new() }
    }

    /// The attributes as one number, put together at each question.
    #[inline(never)]
    fn attributes(&self) -> u32 {
        let bits = self.attributes.iter().enumerate();
        bits.fold(0, |all, (place, is_set)| all | u32::from(*is_set) << place)
    }

    #[inline(never)]
    pub(crate) fn is(&self, attribute: Attribute) -> bool {
        self.attributes() & 1 << attribute as u32 != 0
    }
}

#[derive(Debug)]
pub(crate) struct Object {
    name: String,
    is_instance: bool,
    parent: Option<ObjectId>,
    children: LinkedList<ObjectId>,
    pub(crate) parameters: LinkedList<Param>,
}

#[derive(PartialEq)]
enum Reason {
    Read,
    Write,
    Validate,
}

/// What is done with a parameter; the value is a new one, or how a reader asks.
struct Action<'a> {
    param: &'a Param,
    reason: Reason,
    value: &'a Variant,
}

#[derive(Debug, Default)]
pub(crate) struct DataModel {
    objects: Vec<Option<Object>>,
    roots: LinkedList<ObjectId>,
    /// Changes that have been emitted, and are to be handed on by the event loop.
    pub(crate) signals: VecDeque<Variant>,
}

impl DataModel {
    pub(crate) fn add(&mut self, parent: Option<ObjectId>, name: &str) -> ObjectId {
        let (children, parameters) = (LinkedList::new(), LinkedList::new());
        let object =
            Object { name: name.to_owned(), is_instance: false, parent, children, parameters };
        let id = self.objects.iter().position(Option::is_none).unwrap_or(self.objects.len());
        self.objects.resize_with(self.objects.len().max(id + 1), || None);
        self.objects[id] = Some(object);
        match parent.and_then(|parent| self.object_mut(parent)) {
            Some(parent) => parent.children.push_back(id),
            None => self.roots.push_back(id),
        }
        id
    }

    /// An instance, with its own copy of each parameter of its template.
    pub(crate) fn add_instance(&mut self, template: ObjectId, index: u32) -> ObjectId {
        let id = self.add(Some(template), &index.to_string());
        let copy = |one: &Param| Param {
            name: one.name.clone(),
            attributes: one.attributes,
            value: one.value.copy(),
            checks: LinkedList::new(),
        };
        let copies = self.object(template).map(|one| one.parameters.iter().map(copy).collect());
        if let Some(object) = self.object_mut(id) {
            (object.is_instance, object.parameters) = (true, copies.unwrap_or_default());
        }
        id
    }

    #[inline(never)]
    pub(crate) fn delete(&mut self, id: ObjectId) {
        let parent = self.objects.get_mut(id).and_then(Option::take).and_then(|one| one.parent);
        if let Some(parent) = parent.and_then(|parent| self.object_mut(parent)) {
            parent.children = parent.children.iter().copied().filter(|one| *one != id).collect();
        }
    }

    fn object(&self, id: ObjectId) -> Option<&Object> {
        self.objects.get(id)?.as_ref()
    }

    pub(crate) fn object_mut(&mut self, id: ObjectId) -> Option<&mut Object> {
        self.objects.get_mut(id)?.as_mut()
    }

    /// `WiFi.AccessPoint.1.`, put together from its end.
    pub(crate) fn get_path(&self, id: ObjectId) -> String {
        let mut path = String::with_capacity(128);
        let mut current = self.object(id);
        while let Some(object) = current {
            path.insert(0, '.');
            path.insert_str(0, &object.name);
            current = object.parent.and_then(|parent| self.object(parent));
        }
        path
    }

    /// The object of a path: each level's list is walked.
    pub(crate) fn find(&self, path: &str) -> Option<ObjectId> {
        let mut parts = Path::default();
        parts.set(format_args!("{path}"));
        let (mut found, mut children) = (None, &self.roots);
        for name in parts.names() {
            let is_named =
                |id: &&ObjectId| self.object(**id).is_some_and(|one| strcmp(&one.name, name));
            let id = *children.iter().find(is_named)?;
            (found, children) = (Some(id), &self.object(id)?.children);
        }
        found
    }

    /// The definition of a parameter: the list is walked, and each name compared.
    #[inline(never)]
    pub(crate) fn get_param_def(&self, id: ObjectId, name: &str) -> Option<&Param> {
        self.object(id)?.parameters.iter().find(|param| strcmp(&param.name, name))
    }

    fn get_param_def_mut(&mut self, id: ObjectId, name: &str) -> Option<&mut Param> {
        self.object_mut(id)?.parameters.iter_mut().find(|param| strcmp(&param.name, name))
    }

    /// The values of the parameters that other programs may see and that have all of these attributes, in a new map.
    pub(crate) fn get_object_params(&self, id: ObjectId, wanted: u32) -> Result<Variant, Fault> {
        let object = self.object(id).ok_or(NO_OBJECT)?;
        let mut args = Variant::map();
        args.set("access", Variant::Uint(1));
        args.set("no-param-value", Variant::Bool(true));
        let mut values = Variant::map();
        for param in &object.parameters {
            let is_seen = param.is(Attribute::Instance) && !param.is(Attribute::Private);
            if is_seen && param.attributes() & wanted == wanted {
                let read = Action { param, reason: Reason::Read, value: &args };
                values.set(&param.name, self.invoke_action(id, &read)?);
            }
        }
        Ok(values)
    }

    /// Does what a parameter is told to do itself, else what its template is told, else what all do.
    #[inline(never)]
    fn invoke_action(&self, id: ObjectId, action: &Action<'_>) -> Result<Variant, Fault> {
        let mut is_valid = action.invoke(&action.param.checks);
        let mut current = self.object(id).filter(|object| object.is_instance);
        while is_valid.is_none()
            && let Some(base) = current.and_then(|object| object.parent)
        {
            let param = self.get_param_def(base, &action.param.name);
            is_valid = param.and_then(|param| action.invoke(&param.checks));
            current = self.object(base).filter(|object| object.is_instance);
        }
        match action.reason {
            Reason::Read => Ok(action.param.value.copy()),
            Reason::Write => action.value.convert(&action.param.value).ok_or(NOT_ALLOWED),
            Reason::Validate if is_valid == Some(false) => Err(NOT_ALLOWED),
            Reason::Validate => Ok(Variant::Null),
        }
    }

    /// Writes the parameters of `args` and returns what was written, below the object's path.
    pub(crate) fn write(&mut self, id: ObjectId, args: &Variant) -> Result<Variant, Fault> {
        let mut written = Variant::map();
        let is_allowed = args.get("set_read_only") == Some(&Variant::Bool(true));
        let parameters = args.get("parameters").unwrap_or(&Variant::Null);
        // A key is written once; which there are, the list says.
        let keys = self.get_object_params(id, 1 << Attribute::Key as u32)?;
        if keys.entries().any(|key| parameters.get(&key.key).is_some()) {
            return Err(NOT_ALLOWED);
        }
        for entry in parameters.entries() {
            let value = self.set_value(id, entry, is_allowed)?;
            let result = action_get_result(&mut written, &self.get_path(id));
            result.ok_or(NO_OBJECT)?.set(&entry.key, value);
        }
        Ok(written)
    }

    /// Writes one parameter where its value is another, and says what it is then.
    fn set_value(
        &mut self,
        id: ObjectId,
        entry: &Entry,
        is_allowed: bool,
    ) -> Result<Variant, Fault> {
        let Entry { key, value, .. } = entry;
        let param = self.get_param_def(id, key).ok_or(NO_PARAMETER)?;
        if param.is(Attribute::Private) || !param.is(Attribute::Instance) {
            return Err(NO_PARAMETER);
        }
        if param.is(Attribute::ReadOnly) && !is_allowed {
            return Err(NOT_ALLOWED);
        }
        let result = value.convert(&param.value).ok_or(NOT_ALLOWED)?;
        if !value.is_same(&param.value) {
            self.invoke_action(id, &Action { param, reason: Reason::Validate, value })?;
            let new = self.invoke_action(id, &Action { param, reason: Reason::Write, value })?;
            self.get_param_def_mut(id, key).ok_or(NO_PARAMETER)?.value = new;
        }
        Ok(result)
    }

    /// Sets a parameter's value and nothing else, as is done with volatile ones.
    #[inline(never)]
    pub(crate) fn set_param(&mut self, id: ObjectId, name: &str, value: &Variant) {
        if let Some(param) = self.get_param_def_mut(id, name) {
            param.value = value.convert(&param.value).unwrap_or(Variant::Null);
        }
    }

    /// Hands a change to whoever subscribed: path, object and parameters, copied into the queue.
    pub(crate) fn event(&mut self, name: &'static str, id: ObjectId, data: &mut Variant) {
        let path = self.get_path(id);
        data.set("object", Variant::text(&path));
        data.set("path", Variant::Text(path));
        data.set("notification", Variant::text(name));
        self.signals.push_back(data.copy());
    }
}

impl Action<'_> {
    /// Goes through what a parameter is told to do; only new values are judged there.
    #[inline(never)]
    fn invoke(&self, checks: &LinkedList<RangeInclusive<i64>>) -> Option<bool> {
        let mut checks = checks.iter().filter(|_| self.reason == Reason::Validate);
        let check = checks.next()?;
        Some(matches!(self.value, Variant::Int(value) if check.contains(value)))
    }
}

/// Where the result of a writing is put together for an object, below its path.
fn action_get_result<'a>(written: &'a mut Variant, path: &str) -> Option<&'a mut Variant> {
    if written.get(path).is_none() {
        let mut object = Variant::map();
        object.set("parameters", Variant::map());
        written.set(path, object);
    }
    written.get_mut(path)?.get_mut("parameters")
}
