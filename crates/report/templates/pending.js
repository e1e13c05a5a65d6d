// While the run goes on: asks for the page again, unless someone is at it, and unfolds what was unfolded before.
(function () {
  var EVERY = 20000, KEY = "headroom:" + location.pathname;
  var folds = Array.prototype.slice.call(document.querySelectorAll("details"));
  function name(fold) { return fold.querySelector("summary").textContent; }
  try {
    var open = JSON.parse(sessionStorage.getItem(KEY) || "[]");
    folds.forEach(function (fold) { if (open.indexOf(name(fold)) >= 0) { fold.open = true; } });
  } catch (none) { /* Without storage they begin folded. */ }
  setInterval(function () {
    var busy = document.activeElement && /INPUT|SELECT|TEXTAREA/.test(document.activeElement.tagName);
    if (document.hidden || busy || String(getSelection())) { return; }
    try {
      sessionStorage.setItem(KEY, JSON.stringify(folds.filter(function (fold) { return fold.open; }).map(name)));
    } catch (none) { /* As above. */ }
    location.reload();
  }, EVERY);
})();
