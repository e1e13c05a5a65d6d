// Flame graphs, the hands: choice, zoom, search, keyboard, and what is said of a frame.
(function () {
  "use strict";
  var D = flamesData, W = flamesDraw, ABSENT = "–";
  var home = document.getElementById("flames");
  if (!home || !window.TextDecoder || !window.HTMLCanvasElement) { return; }
  var part = function (name) { return document.getElementById("flames-" + name); };
  var panesBox = home.querySelector(".panes"), choice = part("view"), search = part("search");
  var says = part("says"), found = part("found");
  var tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  home.appendChild(tip);
  var look = { frames: D.frames(part("names").textContent), zoom: 0, span: 0, focus: -1, hover: -1, matched: null };
  var view = null, panes = [];

  function element(name, className, text) {
    var made = document.createElement(name);
    made.className = className;
    if (text) { made.textContent = text; }
    return made;
  }

  // What is shown.
  function open(id, isTurned) {
    var block = part(id), of = block.dataset, isDifference = id.charAt(0) === "d";
    var tree = D.tree(block.textContent, Number(of.unit), isDifference, look.frames.all);
    if (isTurned && !isDifference) { tree = D.turned(tree); }
    part("turn").setAttribute("aria-pressed", isTurned && !isDifference);
    view = {
      tree: tree, before: of.before, after: of.after, cpu: of.cpu === "true", clients: Number(of.clients) || 0,
      isDifference: isDifference
    };
    panes = isDifference
      ? [pane("before: " + of.before, tree.one), pane("after: " + of.after, tree.other), pane("difference", D.unionWidths(tree))]
      : [pane(of.before, tree.other)];
    if (isDifference) { panes[2].change = true; panes[2].largest = largestChange(tree); }
    panesBox.className = isDifference ? "panes three" : "panes";
    panesBox.textContent = "";
    panes.forEach(place);
    home.querySelectorAll(".of-one").forEach(function (each) { each.hidden = isDifference; });
    home.querySelectorAll(".of-both").forEach(function (each) { each.hidden = !isDifference; });
    look.focus = look.hover = -1;
    says.textContent = "";
    match();
    zoom(0, true);
    var first = panes[panes.length - 1];
    if (!isTurned) { zoom(D.trunk(view.tree, first.width)); }
  }

  function pane(title, width) {
    return { title: title, tree: view.tree, width: width, from: D.begins(view.tree, width) };
  }

  function place(each) {
    var figure = element("figure", "pane"), caption = element("figcaption", "", each.title);
    var box = element("div", "box"), canvas = element("canvas", "");
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "application");
    canvas.setAttribute("aria-roledescription", "flame graph");
    canvas.setAttribute("aria-label", each.title + ". Arrows move between frames, Enter zooms, Escape shows all.");
    each.canvas = canvas;
    each.caption = caption;
    box.appendChild(canvas);
    figure.appendChild(caption);
    figure.appendChild(box);
    panesBox.appendChild(figure);
    canvas.addEventListener("click", function (event) { var node = at(each, event); if (node >= 0) { zoom(node); focus(each, node); } });
    canvas.addEventListener("mousemove", function (event) { hover(each, at(each, event), event); });
    canvas.addEventListener("mouseleave", function () { hover(each, -1); });
    canvas.addEventListener("focus", function () { if (look.focus < 0) { look.focus = look.zoom; say(look.focus); drawAll(); } });
    canvas.addEventListener("blur", function () { look.focus = -1; tip.hidden = true; drawAll(); });
    canvas.addEventListener("keydown", function (event) { key(each, event); });
  }

  function largestChange(tree) {
    var most = 0;
    for (var i = 1; i < tree.count; i++) {
      if (tree.significant[i]) { most = Math.max(most, Math.abs(tree.other[i] - tree.one[i])); }
    }
    return most;
  }

  function drawAll() { panes.forEach(function (each) { W.draw(each, look); }); }

  // Shows one frame and all that it calls; all panes keep one scale.
  function zoom(node, isNew) {
    look.zoom = node;
    look.span = Math.max.apply(null, panes.map(function (each) { return each.width[node]; }));
    panes.forEach(function (each) {
      if (isNew) { each.least = 0; }
      W.draw(each, look);
      // Its height does not jump while somebody looks around.
      if (isNew) { each.least = each.rows.length * W.ROW; }
      var name = node === 0 ? "" : " · " + look.frames.names[view.tree.frame[node]];
      each.caption.textContent = each.title + name + (each.change ? "" : " · " + (each.width[node] > 0 ? cost(each.width[node]) : "not there"));
    });
    part("up").disabled = part("reset").disabled = node === 0;
  }

  function at(each, event) {
    var box = each.canvas.getBoundingClientRect();
    return W.nodeAt(each, event.clientX - box.left, event.clientY - box.top);
  }

  function hover(each, node, event) {
    each.canvas.style.cursor = node < 0 ? "" : "pointer";
    if (node !== look.hover) { look.hover = node; drawAll(); }
    if (node < 0) { tip.hidden = true; return; }
    show(node, event.clientX, event.clientY);
  }

  function focus(each, node) {
    look.focus = node;
    say(node);
    drawAll();
    var there = W.placeOf(each, node);
    if (!there) { tip.hidden = true; return; }
    var y = each.canvas.getBoundingClientRect().top + there.top;
    if (y < 0 || y > window.innerHeight - W.ROW) { window.scrollBy(0, y - window.innerHeight / 2); }
    var on = each.canvas.getBoundingClientRect();
    show(node, on.left + there.left, on.top + there.top + W.ROW / 2);
  }

  // Words and figures.
  function cost(value) { return view.cpu ? D.cpu(value) : Math.round(value) + " samples"; }
  function perClient(value) { return view.cpu && view.clients ? D.cpu(value / view.clients) : ABSENT; }
  function signed(value) { return (value > 0 ? "+" : "") + cost(value); }

  function kinds(frame) {
    if (frame === look.frames.all) { return []; }
    var kind = look.frames.kinds[frame], naming = kind & 3;
    return [
      naming === D.PROCESS && "process", kind & D.KERNEL && "kernel", naming === D.SYNTHESISED && "name made up",
      naming === D.UNKNOWN && "unknown", kind & D.INLINED && "inlined", kind & D.WAITS && "waits"
    ].filter(Boolean);
  }

  function facts(node) {
    var of = view.tree, one = of.one[node], other = of.other[node];
    if (!view.isDifference) {
      return [
        ["samples", one + " of " + of.one[0]], ["share", of.one[0] ? D.percent(one / of.one[0]) : ABSENT],
        ["CPU", view.cpu ? D.cpu(other) : ABSENT], ["per client", perClient(other)]
      ];
    }
    var share = one > 0 && other > 0 ? " (" + (other > one ? "+" : "") + D.percent((other - one) / one) + ")" : "";
    return [
      ["before", one > 0 ? cost(one) : "not there"], ["after", other > 0 ? cost(other) : "not there"],
      ["change", signed(other - one) + share], ["change per client", (other > one && view.clients && view.cpu ? "+" : "") + perClient(other - one)],
      ["change is", of.significant[node] ? "significant" : "not significant"]
    ];
  }

  function say(node) {
    var frame = view.tree.frame[node], module = look.frames.modules[frame];
    var words = [module].concat(kinds(frame)).filter(Boolean).join(", ");
    says.textContent = look.frames.names[frame] + (words ? " (" + words + ")" : "") + ": " +
      facts(node).map(function (fact) { return fact.join(" "); }).join("; ");
  }

  function show(node, x, y) {
    var frame = view.tree.frame[node];
    tip.textContent = "";
    tip.appendChild(element("b", "", look.frames.names[frame]));
    var words = [look.frames.modules[frame]].concat(kinds(frame)).filter(Boolean).join(", ");
    if (words) { tip.appendChild(element("span", "", words)); }
    facts(node).forEach(function (fact) {
      var row = element("div", "");
      row.appendChild(element("span", "", fact[0]));
      row.appendChild(element("span", "", fact[1]));
      tip.appendChild(row);
    });
    tip.hidden = false;
    var wide = document.documentElement.clientWidth, high = window.innerHeight;
    tip.style.left = Math.max(4, Math.min(x + 14, wide - tip.offsetWidth - 6)) + "px";
    tip.style.top = (y + 18 + tip.offsetHeight > high ? Math.max(4, y - 14 - tip.offsetHeight) : y + 18) + "px";
  }

  // Search: text or regular expression, whichever matches; a stack counts once, however often it matches.
  function match() {
    var text = search.value.trim();
    if (!text) { look.matched = null; found.textContent = ""; return; }
    var pattern = null, small = text.toLowerCase();
    try { pattern = new RegExp(text, "i"); } catch (error) { pattern = null; }
    look.matched = new Uint8Array(look.frames.all + 1);
    for (var frame = 0; frame < look.frames.all; frame++) {
      var name = look.frames.names[frame];
      if (name.toLowerCase().indexOf(small) >= 0 || (pattern && pattern.test(name))) { look.matched[frame] = 1; }
    }
    found.textContent = sum();
  }

  function sum() {
    var of = view.tree, one = 0, other = 0, paths = 0;
    for (var i = 1; i < of.count;) {
      if (!look.matched[of.frame[i]]) { i++; continue; }
      one += of.one[i];
      other += of.other[i];
      paths++;
      i = of.end[i];
    }
    if (!paths) { return "nothing matches"; }
    if (view.isDifference) {
      return "matches: before " + cost(one) + ", after " + cost(other) + ", change " + signed(other - one);
    }
    var share = of.one[0] ? D.percent(one / of.one[0]) : ABSENT;
    return "matches: " + share + " of samples (" + one + ")" +
      (view.cpu ? ", " + D.cpu(other) + ", " + perClient(other) + " per client" : "");
  }

  // Keys.
  function next(each, node, step) {
    var of = view.tree, parent = of.parent[node], row = each.rows[of.depth[node]] || [];
    for (var b = 0; b < row.length; b += 3) {
      if (row[b] !== node) { continue; }
      var beside = row[b + 3 * step];
      return beside !== undefined && of.parent[beside] === parent ? beside : node;
    }
    return node;
  }

  function widestChild(each, node) {
    var of = view.tree, best = node, most = 0;
    for (var i = node + 1; i < of.end[node]; i = of.end[i]) {
      if (each.width[i] > most) { most = each.width[i]; best = i; }
    }
    return best;
  }

  function key(each, event) {
    if (event.ctrlKey || event.metaKey || event.altKey) { return; }
    var node = look.focus < 0 ? look.zoom : look.focus, of = view.tree;
    var moves = {
      ArrowUp: function () { focus(each, Math.max(0, of.parent[node])); },
      ArrowDown: function () { focus(each, widestChild(each, node)); },
      ArrowLeft: function () { focus(each, next(each, node, -1)); },
      ArrowRight: function () { focus(each, next(each, node, 1)); },
      Enter: function () { zoom(node); focus(each, node); },
      Backspace: function () { up(); focus(each, look.zoom); },
      Escape: function () { zoom(0); focus(each, 0); }
    };
    if (!moves[event.key]) { return; }
    event.preventDefault();
    moves[event.key]();
  }

  function up() { zoom(Math.max(0, view.tree.parent[look.zoom])); }

  function turn() { open(choice.value, part("turn").getAttribute("aria-pressed") !== "true"); }

  // From anywhere on the page, but not while somebody writes or holds another key.
  document.addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) { return; }
    var does = {
      "/": function () { search.focus(); search.select(); },
      f: function () { panes[0].canvas.focus(); },
      b: turn,
      Escape: function () { if (event.target.tagName !== "CANVAS") { zoom(0); } }
    }[event.key];
    if (!does) { return; }
    for (var fold = home.closest("details:not([open])"); fold; fold = fold.parentElement.closest("details:not([open])")) { fold.open = true; }
    event.preventDefault();
    does();
  });
  search.addEventListener("keydown", function (event) {
    if (event.key !== "Escape" && event.key !== "Enter") { return; }
    event.preventDefault();
    if (event.key === "Escape") { search.value = ""; match(); }
    panes[0].canvas.focus();
    drawAll();
  });
  search.addEventListener("input", function () { match(); drawAll(); });
  part("turn").addEventListener("click", turn);
  part("up").addEventListener("click", up);
  part("reset").addEventListener("click", function () { zoom(0); });
  choice.addEventListener("change", function () { open(choice.value); });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  if (window.ResizeObserver) { new ResizeObserver(drawAll).observe(panesBox); }
  else { window.addEventListener("resize", drawAll); }

  home.classList.add("live");
  [home.querySelector(".tools"), panesBox, says, home.querySelector(".keys")].forEach(function (each) { each.hidden = false; });
  open(choice.value);
})();
