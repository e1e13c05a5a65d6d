// Flame graphs, the data: what flames/encode.rs wrote becomes arrays of numbers, and places of frames.
// Knows nothing of pictures.
var flamesData = (function () {
  "use strict";
  var PROCESS = 0, NAMED = 1, SYNTHESISED = 2, UNKNOWN = 3;
  var KERNEL = 4, INLINED = 8, WAITS = 16;

  function bytesOf(text) {
    var digits = new Uint8Array(128);
    var alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (var d = 0; d < 64; d++) { digits[alphabet.charCodeAt(d)] = d; }
    var bytes = new Uint8Array(Math.floor(text.length * 3 / 4));
    var bits = 0, held = 0, at = 0;
    for (var i = 0; i < text.length; i++) {
      bits = (bits << 6 | digits[text.charCodeAt(i)]) & 0xffffff;
      held += 6;
      if (held >= 8) { held -= 8; bytes[at++] = bits >> held; }
    }
    return bytes;
  }

  function reader(text) {
    var bytes = bytesOf(text), at = 0, decoder = new TextDecoder();
    return {
      number: function () {
        var byte = bytes[at++], number = byte & 127;
        for (var times = 128; byte > 127; times *= 128) {
          byte = bytes[at++];
          number += (byte & 127) * times;
        }
        return number;
      },
      text: function () {
        var length = this.number();
        at += length;
        return decoder.decode(bytes.subarray(at - length, at));
      }
    };
  }

  // Every frame: its name, its module and its kind. The last one stands for all together.
  function frames(text) {
    var read = reader(text), texts = [], i;
    for (i = read.number(); i > 0; i--) { texts.push(read.text()); }
    var count = read.number(), names = [], modules = [], kinds = new Uint8Array(count + 1);
    for (i = 0; i < count; i++) {
      names.push(texts[read.number()]);
      modules.push(texts[read.number()]);
      kinds[i] = read.number();
    }
    names.push("all");
    modules.push("");
    return { names: names, modules: modules, kinds: kinds, all: count };
  }

  // A tree: node 0 is all together; `end` is the node behind a subtree.
  function tree(text, unit, isDifference, all) {
    var read = reader(text), count = read.number() + 1;
    var of = {
      count: count, depth: new Uint16Array(count), frame: new Uint32Array(count), parent: new Int32Array(count),
      end: new Uint32Array(count), significant: new Uint8Array(count),
      one: new Float64Array(count), other: new Float64Array(count), isDifference: isDifference
    };
    var path = [0], below = 1, first = isDifference ? unit : 1;
    of.frame[0] = all;
    of.parent[0] = -1;
    for (var i = 1; i < count; i++) {
      var up = read.number(), depth = below - (up >> 1);
      while (path.length > depth) { of.end[path.pop()] = i; }
      of.significant[i] = up & 1;
      of.depth[i] = depth;
      of.parent[i] = path[depth - 1];
      path[depth] = i;
      of.frame[i] = read.number();
      of.one[i] = read.number() * first;
      of.other[i] = read.number() * unit;
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
    frames: frames, tree: tree, unionWidths: unionWidths, begins: begins,
    figure: figure, cpu: cpu, percent: percent
  };
})();
