// What a person does on a page of flame graphs, for flame_graphs/mod.rs: each text that is written is a line
// of its answer.
const said = [], q = (name) => document.getElementById("flames-" + name);
const canvas = (at) => document.querySelectorAll("#flames canvas")[at || 0];
const mouse = (kind, share, row, at) => {
  const box = canvas(at).getBoundingClientRect();
  canvas(at).dispatchEvent(new MouseEvent(kind, { bubbles: true, clientX: box.left + share * box.width, clientY: box.top + (row + 0.5) * 18 }));
};
const key = (name) => (document.activeElement || document.body).dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true }));
const tip = () => document.querySelector(".tip").hidden ? "no tip" : [...document.querySelectorAll(".tip > *")].map((e) => [...e.children].map((c) => c.textContent).join(" ") || e.textContent).join("; ");
const title = (at) => document.querySelectorAll("#flames figcaption")[at || 0].textContent;
const show = (value) => { q("view").value = value; q("view").dispatchEvent(new Event("change", { bubbles: true })); };
const type = (text) => { q("search").value = text; q("search").dispatchEvent(new Event("input", { bubbles: true })); };
const write = (text) => said.push(text);
