// Flame graphs, the data: what flames/encode.rs wrote becomes arrays of numbers, and places of frames.
// Knows nothing of pictures.
var flamesData = (function () {
  "use strict";
  var PROCESS = 0, NAMED = 1, SYNTHESISED = 2, UNKNOWN = 3;
  var KERNEL = 4, INLINED = 8, WAITS = 16;

  // Numbers in decimal, each with a space behind it.
  function reader(text) {
    var at = 0;
    return function () {
      var number = 0;
      for (var digit = text.charCodeAt(at++) - 48; digit >= 0; digit = text.charCodeAt(at++) - 48) { number = number * 10 + digit; }
      return number;
    };
  }

  // Every frame: its name, its module and its kind. The last one stands for all together.
  function frames(text) {
    var lines = text.split("\n"), count = lines.length - 1, names = [], modules = [], kinds = new Uint8Array(count + 1);
    for (var i = 0; i < count; i++) {
      var parts = lines[i].split("\t");
      kinds[i] = Number(parts[0]);
      names.push(parts[1]);
      modules.push(parts[2]);
    }
    names.push("all");
    modules.push("");
    return { names: names, modules: modules, kinds: kinds, all: count };
  }

  // A tree: node 0 is all together; `end` is the node behind a subtree.
  function tree(text, unit, isDifference, all) {
    var read = reader(text), count = (text.split(" ").length - 1) / 4 + 1;
    var of = {
      count: count, depth: new Uint16Array(count), frame: new Uint32Array(count), parent: new Int32Array(count),
      end: new Uint32Array(count), significant: new Uint8Array(count),
      one: new Float64Array(count), other: new Float64Array(count), isDifference: isDifference
    };
    var path = [0], below = 1, first = isDifference ? unit : 1;
    of.frame[0] = all;
    of.parent[0] = -1;
    for (var i = 1; i < count; i++) {
      var up = read(), depth = below - (up >> 1);
      while (path.length > depth) { of.end[path.pop()] = i; }
      of.significant[i] = up & 1;
      of.depth[i] = depth;
      of.parent[i] = path[depth - 1];
      path[depth] = i;
      of.frame[i] = read();
      of.one[i] = read() * first;
      of.other[i] = read() * unit;
      if (depth === 1) {
        of.one[0] += of.one[i];
        of.other[0] += of.other[i];
        // What one root says holds for all of it; of several roots' sum nothing is known.
        of.significant[0] = i === 1 ? of.significant[i] : 0;
      }
      below = depth + 1;
    }
    while (path.length) { of.end[path.pop()] = count; }
    return of;
  }

  // The same turned over: below all, functions by what they cost themselves, below each its callers; what is too small
  // to be seen is left out.
  function turned(of) {
    var over = { depth: [0], frame: [of.frame[0]], parent: [-1], end: [0], significant: [0], one: [of.one[0]], other: [of.other[0]], isDifference: false };
    var own = { one: Float64Array.from(of.one), other: Float64Array.from(of.other) }, leaves = [];
    for (var i = 1; i < of.count; i++) {
      own.one[of.parent[i]] -= of.one[i];
      own.other[of.parent[i]] -= of.other[i];
    }
    for (i = 1; i < of.count; i++) { if (own.one[i] > 0) { leaves.push([i, i]); } }
    function sum(pairs, of) { return pairs.reduce(function (all, pair) { return all + of[pair[0]]; }, 0); }
    function expand(pairs, parent) {
      var by = new Map();
      pairs.forEach(function (pair) {
        if (pair[1] < 1) { return; }
        var frame = of.frame[pair[1]];
        if (!by.has(frame)) { by.set(frame, []); }
        by.get(frame).push(pair);
      });
      var groups = Array.from(by, function (one) { return { frame: one[0], pairs: one[1], one: sum(one[1], own.one) }; });
      groups.sort(function (a, b) { return b.one - a.one; }).forEach(function (group) {
        var one = group.one;
        if (one < of.one[0] / 5000) { return; }
        var node = over.frame.push(group.frame) - 1;
        over.depth.push(over.depth[parent] + 1);
        over.parent.push(parent);
        over.significant.push(0);
        over.one.push(one);
        over.other.push(sum(group.pairs, own.other));
        expand(group.pairs.map(function (pair) { return [pair[0], of.parent[pair[1]]]; }), node);
        over.end[node] = over.frame.length;
      });
    }
    expand(leaves, 0);
    over.count = over.end[0] = over.frame.length;
    return over;
  }

  // The first frame below which ways part: all above it has nothing else.
  function trunk(of, width) {
    var node = 0;
    while (of.end[node] > node + 1 && width[node + 1] >= 0.999 * width[node]) { node++; }
    return node;
  }

  // As wide as the dearer side, or as all that it calls on either side.
  function unionWidths(of) {
    var inside = new Float64Array(of.count), width = new Float64Array(of.count);
    for (var i = of.count - 1; i >= 0; i--) {
      width[i] = Math.max(of.one[i], of.other[i], inside[i]);
      if (i > 0) { inside[of.parent[i]] += width[i]; }
    }
    return width;
  }

  // Where each node begins: behind its elder siblings.
  function begins(of, width) {
    var from = new Float64Array(of.count), next = new Float64Array(of.count);
    for (var i = 1; i < of.count; i++) {
      var parent = of.parent[i];
      from[i] = from[parent] + next[parent];
      next[parent] += width[i];
    }
    return from;
  }

  // Four digits in the unit that fits, as the tables have them (analysis::quantity::cpu_short).
  function figure(value) {
    var size = Math.abs(value);
    var whole = size === 0 ? 1 : Math.floor(Math.log10(size)) + 1;
    var text = value.toFixed(Math.max(0, Math.min(9, 4 - whole)));
    return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−");
  }

  function cpu(us) {
    var size = Math.abs(us);
    if (size === 0) { return "0 µs/s"; }
    if (size < 1e3) { return figure(us) + " µs/s"; }
    return size < 1e6 ? figure(us / 1e3) + " ms/s" : figure(us / 1e6) + " s/s";
  }

  function percent(share) {
    if (share === 0) { return "0 %"; }
    var value = share * 100, whole = Math.floor(Math.log10(Math.abs(value))) + 1;
    return value.toFixed(Math.max(0, Math.min(6, 2 - whole))).replace("-", "−") + " %";
  }

  return {
    PROCESS: PROCESS, NAMED: NAMED, SYNTHESISED: SYNTHESISED, UNKNOWN: UNKNOWN,
    KERNEL: KERNEL, INLINED: INLINED, WAITS: WAITS,
    frames: frames, tree: tree, turned: turned, trunk: trunk, unionWidths: unionWidths, begins: begins,
    figure: figure, cpu: cpu, percent: percent
  };
})();
