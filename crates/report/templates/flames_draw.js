// Flame graphs, the picture: one tree on one canvas, root at the top, only what can be seen.
// Knows nothing of the mouse, the keyboard or the page around.
var flamesDraw = (function () {
  "use strict";
  var ROW = 18, LEAST = 0.5, LABELLED = 22;
  var D = flamesData;
  var FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Helvetica Neue', Arial, sans-serif";

  function colours(element) {
    var style = getComputedStyle(element), found = {};
    ["named", "kernel", "synthesised", "unknown", "process", "more", "less", "same"].forEach(function (name) {
      found[name] = style.getPropertyValue("--f-" + name).trim().split(/[ %]+/).map(Number);
    });
    ["page", "f-ink", "f-edge", "f-match", "f-match-ink", "accent"].forEach(function (name) {
      found[name] = style.getPropertyValue("--" + name).trim();
    });
    return found;
  }

  function hsl(three, lighter) {
    return "hsl(" + three[0] + " " + three[1] + "% " + Math.max(4, Math.min(97, three[2] + lighter)) + "%)";
  }

  // A little lighter or darker by name, so that neighbours differ and a function looks alike everywhere.
  function shade(name) {
    var hash = 0;
    for (var i = 0; i < name.length; i++) { hash = (hash * 31 + name.charCodeAt(i)) | 0; }
    return (hash >>> 0) % 7 - 3;
  }

  function kindName(kind) {
    if ((kind & 3) === D.PROCESS) { return "process"; }
    if ((kind & 3) === D.UNKNOWN) { return "unknown"; }
    if (kind & D.KERNEL) { return "kernel"; }
    return (kind & 3) === D.SYNTHESISED ? "synthesised" : "named";
  }

  function mixed(from, to, share) {
    return [to[0], from[1] + (to[1] - from[1]) * share, from[2] + (to[2] - from[2]) * share];
  }

  // `pane`: canvas, tree, width, from, change (whether it shows the difference), largest (change).
  // `look`: frames, zoom, span, focus, matched (by frame) or null.
  function draw(pane, look) {
    var canvas = pane.canvas, ratio = window.devicePixelRatio || 1;
    var wide = canvas.parentNode.clientWidth;
    pane.rows = [];
    // Hidden, as on paper.
    if (!wide) { return; }
    var rows = collect(pane, look, wide);
    var high = Math.max(pane.rows.length * ROW, pane.least || 0);
    canvas.style.height = high + "px";
    canvas.width = Math.round(wide * ratio);
    canvas.height = Math.round(high * ratio);
    var pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.font = FONT;
    pen.textBaseline = "middle";
    var ink = colours(canvas);
    pen.strokeStyle = ink["f-edge"];
    for (var row = 0; row < rows.length; row++) {
      for (var b = 0; b < rows[row].length; b += 3) {
        box(pen, pane, look, ink, rows[row][b], rows[row][b + 1], rows[row][b + 2], row * ROW);
      }
    }
    [look.hover, look.focus].forEach(function (node, at) { outline(pen, placeOf(pane, node), ink, at ? 2 : 1); });
  }

  // By row: node, left and right of everything that is wide enough.
  function collect(pane, look, wide) {
    var of = pane.tree, zoom = look.zoom, scale = look.span > 0 ? wide / look.span : 0, from = pane.from[zoom];
    var rows = [];
    for (var above = of.parent[zoom]; above >= 0; above = of.parent[above]) { rows[of.depth[above]] = [above, 0, wide]; }
    for (var i = zoom, end = of.end[zoom]; i < end;) {
      var width = pane.width[i] * scale;
      if (width < LEAST) { i = of.end[i]; continue; }
      var left = (pane.from[i] - from) * scale, row = of.depth[i];
      (rows[row] || (rows[row] = [])).push(i, left, Math.min(left + width, wide));
      i++;
    }
    if (!rows[of.depth[zoom]]) { rows[of.depth[zoom]] = []; }
    pane.rows = rows;
    return rows;
  }

  function fill(pane, look, ink, i) {
    var of = pane.tree, frame = of.frame[i], kind = look.frames.kinds[frame];
    if (look.matched && look.matched[frame]) { return ink["f-match"]; }
    if (pane.change) {
      var change = of.other[i] - of.one[i];
      if (!of.significant[i] || change === 0 || !pane.largest) { return hsl(ink.same, 0); }
      var share = 0.35 + 0.65 * Math.sqrt(Math.min(1, Math.abs(change) / pane.largest));
      return hsl(mixed(ink.same, change > 0 ? ink.more : ink.less, share), 0);
    }
    var three = ink[kindName(frame === look.frames.all ? D.PROCESS : kind)];
    // Away from the ink: paler on a light page, darker on a dark one.
    var paler = kind & D.INLINED ? (three[2] > 50 ? 8 : -7) : 0;
    return hsl(three, shade(look.frames.names[frame]) * 0.8 + paler);
  }

  function box(pen, pane, look, ink, i, left, right, top) {
    var of = pane.tree, frame = of.frame[i], kind = look.frames.kinds[frame], width = right - left;
    var inner = width > 3 ? width - 1 : width;
    var matches = look.matched && look.matched[frame];
    pen.globalAlpha = look.matched && !matches ? 0.55 : of.depth[i] < of.depth[look.zoom] ? 0.65 : 1;
    pen.fillStyle = fill(pane, look, ink, i);
    pen.fillRect(left, top, inner, ROW - 1);
    if (inner > 3) {
      if (!pane.change || (kind & 3) === D.UNKNOWN) { marks(pen, ink, frame === look.frames.all ? 0 : kind, [left, top, inner]); }
      if (pane.change) { oneSided(pen, ink, of, i, [left, top, inner]); }
    }
    if (width >= LABELLED) { label(pen, pane, look, ink, i, [left, top, inner], matches); }
    pen.globalAlpha = 1;
  }

  // What tells kinds apart without colour.
  function marks(pen, ink, kind, place) {
    var left = place[0], top = place[1], width = place[2], bottom = top + ROW - 2.5;
    pen.lineWidth = 1.5;
    if ((kind & 3) === D.UNKNOWN) { hatch(pen, left, top, width); }
    else if (kind & D.KERNEL || (kind & 3) === D.SYNTHESISED) {
      pen.setLineDash(kind & D.KERNEL ? [] : [2, 3]);
      line(pen, left, bottom, left + width, bottom);
      pen.setLineDash([]);
    }
  }

  function hatch(pen, left, top, width) {
    pen.save();
    pen.beginPath();
    pen.rect(left, top, width, ROW - 1);
    pen.clip();
    pen.lineWidth = 1;
    pen.globalAlpha *= 0.45;
    pen.beginPath();
    for (var x = left - left % 6 - ROW; x < left + width; x += 6) { pen.moveTo(x, top + ROW); pen.lineTo(x + ROW, top); }
    pen.stroke();
    pen.restore();
  }

  // New paths have an edge, those that are gone a dashed one.
  function oneSided(pen, ink, of, i, place) {
    if (i === 0 || (of.one[i] > 0 && of.other[i] > 0)) { return; }
    pen.lineWidth = 1.5;
    pen.setLineDash(of.other[i] > 0 ? [] : [3, 2]);
    pen.strokeRect(place[0] + 0.75, place[1] + 0.75, Math.max(0.5, place[2] - 1.5), ROW - 2.5);
    pen.setLineDash([]);
  }

  function line(pen, x, y, toX, toY) {
    pen.beginPath();
    pen.moveTo(x, y);
    pen.lineTo(toX, toY);
    pen.stroke();
  }

  function label(pen, pane, look, ink, i, place, matches) {
    var of = pane.tree, frame = of.frame[i], left = place[0] + 4, room = place[2] - 7, middle = place[1] + ROW / 2;
    var text = look.frames.names[frame], strong = matches ? "600 " : "";
    pen.font = strong + (look.frames.kinds[frame] & D.INLINED && frame !== look.frames.all ? "italic " : "") + FONT;
    pen.fillStyle = matches ? ink["f-match-ink"] : ink["f-ink"];
    if (look.frames.kinds[frame] & D.WAITS && frame !== look.frames.all && room > 12) {
      hourglass(pen, left, place[1] + 4);
      left += 12;
      room -= 12;
    }
    var sign = !pane.change || !of.significant[i] ? "" : of.other[i] > of.one[i] ? "+ " : of.other[i] < of.one[i] ? "− " : "";
    var ahead = sign ? pen.measureText(sign).width : 0;
    text = ahead < room ? sign + fitted(pen, text, room - ahead) : "";
    if (text) { pen.fillText(text, left, middle); }
  }

  function hourglass(pen, x, y) {
    pen.beginPath();
    pen.moveTo(x, y);
    pen.lineTo(x + 8, y);
    pen.lineTo(x, y + 9);
    pen.lineTo(x + 8, y + 9);
    pen.closePath();
    pen.fill();
  }

  function fitted(pen, text, room) {
    text = withoutPath(pen, text, room);
    // No letter of this font is narrower than 2.5 pixels.
    if (text.length * 2.5 > room) { text = text.slice(0, Math.ceil(room / 2.5)) + "…"; }
    if (pen.measureText(text).width <= room) { return text; }
    var low = 0, high = text.length - 1;
    while (low < high) {
      var some = (low + high + 1) >> 1;
      if (pen.measureText(text.slice(0, some) + "…").width <= room) { low = some; } else { high = some - 1; }
    }
    return low > 2 ? text.slice(0, low) + "…" : "";
  }

  // The end of `a::b::c` says more than its beginning.
  function withoutPath(pen, text, room) {
    for (var cut = text.indexOf("::"); cut >= 0 && cut < 60; cut = text.indexOf("::", cut + 2)) {
      if (pen.measureText(text).width <= room || /[<( ]/.test(text.slice(0, cut))) { return text; }
      var rest = "…" + text.slice(cut + 2);
      if (pen.measureText(rest).width <= room || text.indexOf("::", cut + 2) < 0) { return rest; }
    }
    return text;
  }

  function outline(pen, place, ink, thick) {
    if (!place) { return; }
    var width = Math.max(2, place.right - place.left - 2);
    [[ink.page, thick + 2], [ink["f-ink"], thick]].forEach(function (stroke) {
      pen.strokeStyle = stroke[0];
      pen.lineWidth = stroke[1];
      pen.strokeRect(place.left + 1, place.top + 1, width, ROW - 3);
    });
  }

  // Where a node is drawn; nothing if it is not.
  function placeOf(pane, node) {
    if (node < 0) { return null; }
    var row = pane.rows && pane.rows[pane.tree.depth[node]];
    for (var b = 0; row && b < row.length; b += 3) {
      if (row[b] === node) { return { left: row[b + 1], right: row[b + 2], top: pane.tree.depth[node] * ROW }; }
    }
    return null;
  }

  // The node at a place of the canvas, or −1.
  function nodeAt(pane, x, y) {
    var row = pane.rows && pane.rows[Math.floor(y / ROW)];
    if (!row || y < 0) { return -1; }
    var low = 0, high = row.length / 3 - 1;
    while (low <= high) {
      var some = (low + high) >> 1;
      if (x < row[some * 3 + 1]) { high = some - 1; }
      else if (x >= row[some * 3 + 2]) { low = some + 1; }
      else { return row[some * 3]; }
    }
    return -1;
  }

  return { ROW: ROW, draw: draw, nodeAt: nodeAt, placeOf: placeOf, kindName: kindName };
})();
