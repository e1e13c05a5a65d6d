//! A transaction: actions that are done in their order, and a change event for each object that was written.
//!
//! As libamxd does it: an old value is kept for each parameter that is written, whether it changes or not, and an event is put
//! together with each parameter's old and new value, of which those that are equal are taken out again. One that fails is
//! not rolled back: nothing here makes one fail.

use std::{collections::LinkedList, mem};

use crate::{
    object::{Attribute, DataModel, Fault, NO_OBJECT, ObjectId},
    path::Path,
    variant::{Table, Variant, strcmp},
};

#[derive(Debug)]
struct Action {
    /// Whether it writes; else it selects the object that is written next.
    is_write: bool,
    data: Variant,
}

#[derive(Debug, Default)]
pub(crate) struct Transaction {
    actions: Vec<Action>,
    results: LinkedList<Variant>,
    current: Option<ObjectId>,
}

impl Transaction {
    pub(crate) fn new(model: &DataModel, object: ObjectId) -> Self {
        let mut transaction = Self::default();
        transaction.select_object(model, object);
        transaction
    }

    /// What comes next is written to this object.
    pub(crate) fn select_object(&mut self, model: &DataModel, object: ObjectId) {
        let path = model.get_path(object);
        self.add(false).data.set("path", Variant::text(&path));
    }

    #[inline(never)]
    pub(crate) fn set(&mut self, name: &str, value: &Variant) {
        if self.actions.last().is_none_or(|action| !action.is_write) {
            let action = self.add(true);
            action.data.set("set_read_only", Variant::Bool(true));
            action.data.set("access", Variant::Uint(1));
        }
        let Some(action) = self.actions.last_mut() else { return };
        if action.data.get("parameters").is_none() {
            action.data.set("parameters", Variant::map());
        }
        if let Some(parameters) = action.data.get_mut("parameters") {
            parameters.set(name, value.copy());
        }
    }

    fn add(&mut self, is_write: bool) -> &mut Action {
        self.actions.push(Action { is_write, data: Variant::map() });
        let last = self.actions.len() - 1;
        &mut self.actions[last]
    }

    #[inline(never)]
    pub(crate) fn apply(&mut self, model: &mut DataModel) -> Result<(), Fault> {
        let mut rollback = Self::default();
        // The objects that are written, and the number of the roll-back's action that has their old values.
        let mut written = LinkedList::new();
        for action in &mem::take(&mut self.actions) {
            self.invoke_action(model, action, &mut rollback)?;
            let old = rollback.actions.len().saturating_sub(1);
            written.extend(self.current.filter(|_| action.is_write).map(|object| (object, old)));
        }
        for (object, old) in written {
            let old = rollback.actions[old].data.get_mut("parameters").map(mem::take);
            if let Some(Variant::Map(old)) = old {
                emit_changed(model, object, old);
            }
        }
        Ok(())
    }

    fn invoke_action(
        &mut self,
        model: &mut DataModel,
        action: &Action,
        rollback: &mut Self,
    ) -> Result<(), Fault> {
        if !action.is_write {
            if let Some(current) = self.current {
                rollback.select_object(model, current);
            }
            let path = action.data.get("path").and_then(Variant::as_text);
            self.current = path.and_then(|path| model.find(path));
            return self.current.map(|_| ()).ok_or(NO_OBJECT);
        }
        let object = self.current.ok_or(NO_OBJECT)?;
        rollback.revert_write(model, object, &action.data);
        self.results.push_back(model.write(object, &action.data)?);
        Ok(())
    }

    /// Keeps the value of each parameter that is to be written.
    fn revert_write(&mut self, model: &DataModel, object: ObjectId, data: &Variant) {
        let action = self.add(true);
        action.data.set("set_read_only", Variant::Bool(true));
        action.data.set("access", Variant::Uint(2));
        let mut old = Variant::map();
        for entry in data.get("parameters").into_iter().flat_map(Variant::entries) {
            if old.get(&entry.key).is_none()
                && let Some(param) = model.get_param_def(object, &entry.key)
                && !param.is(Attribute::Volatile)
            {
                old.set(&entry.key, param.value.copy());
            }
        }
        action.data.set("parameters", old);
    }
}

/// Sorts old values by the object that they are of, for a parameter's name may be a path, and has each send what changed.
fn emit_changed(model: &mut DataModel, object: ObjectId, mut old: Table) {
    let (mut path, mut objects) = (Path::default(), Table::default());
    while let Some(mut entry) = old.take_first() {
        path.set(format_args!("{}", entry.key));
        if objects.get(path.object()).is_none() {
            objects.set(path.object(), Variant::map());
        }
        if let Some(parameters) = objects.get_mut(path.object()) {
            parameters.set(path.parameter().unwrap_or(&entry.key), mem::take(&mut entry.value));
        }
    }
    while let Some(entry) = objects.take_first() {
        let own = strcmp(&entry.key, ".").then_some(object);
        let place = own.or_else(|| model.find(&(model.get_path(object) + &entry.key)));
        if let Some(place) = place {
            send_changed(model, place, &entry.value);
        }
    }
}

/// Puts an event together with each parameter's old and new value; where any differs, it is sent.
fn send_changed(model: &mut DataModel, object: ObjectId, old: &Variant) {
    let mut new = Table::default();
    for entry in old.entries() {
        if let Some(param) = model.get_param_def(object, &entry.key)
            && !param.is(Attribute::Volatile)
        {
            new.set(&entry.key, param.value.copy());
        }
    }
    let mut parameters = Table::default();
    for entry in old.entries() {
        build_param_changed(&entry.key, (&entry.value, &mut new), &mut parameters);
    }
    if parameters.len() > 0 {
        let mut data = Variant::map();
        data.set("parameters", Variant::Map(parameters));
        model.event("dm:object-changed", object, &mut data);
    }
}

/// Adds `{from, to}` of a parameter, and takes it out again where both are equal.
fn build_param_changed(name: &str, values: (&Variant, &mut Table), parameters: &mut Table) {
    let (old, new) = values;
    let mut change = Variant::map();
    change.set("from", old.copy());
    let value = new.take(name).map_or(Variant::Null, |entry| entry.value);
    let is_same = old.is_same(&value);
    change.set("to", value);
    parameters.set(name, change);
    if is_same {
        drop(parameters.take(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Param;

    #[test]
    fn what_is_applied_is_read_back_and_each_change_is_emitted_once() {
        let mut model = DataModel::default();
        let root = model.add(None, "WiFi");
        let template = model.add(Some(root), "Device");
        let attributes = [Attribute::Instance, Attribute::ReadOnly];
        let mut noise = Param::new("Noise", Variant::Int(0), &attributes);
        noise.checks.push_back(-200..=0);
        let name = Param::new("Name", Variant::text(""), &attributes);
        model.object_mut(template).unwrap().parameters.extend([noise, name]);
        let object = model.add_instance(template, 7);
        for _ in 0..2 {
            let mut transaction = Transaction::new(&model, object);
            transaction.set("Noise", &Variant::Int(-90));
            transaction.set("Name", &Variant::text("a"));
            transaction.set("Name", &Variant::text("b"));
            assert_eq!(transaction.apply(&mut model), Ok(()));
        }
        let values = model.get_object_params(object, 0).unwrap();
        assert_eq!(values.get("Name"), Some(&Variant::text("b")));
        assert_eq!(model.signals.len(), 1, "the second changes nothing");
        assert_eq!(model.signals[0].get("path"), Some(&Variant::text("WiFi.Device.7.")));
        let noise = model.signals[0].get("parameters").and_then(|all| all.get("Noise")).unwrap();
        assert_eq!(noise.get("from"), Some(&Variant::Int(0)));
        assert_eq!(noise.get("to"), Some(&Variant::Int(-90)));
        let mut refused = Transaction::new(&model, object);
        refused.set("Noise", &Variant::Int(1));
        assert!(refused.apply(&mut model).is_err());
    }
}
