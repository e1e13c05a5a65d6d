// Niceties only. Without script texts are simply there, and what is folded unfolds by its summary.
(function () {
  function copies(text, place) {
    if (!text || !place || !navigator.clipboard) { return; }
    var button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", function () {
      navigator.clipboard.writeText(text.textContent).then(function () {
        button.textContent = "Copied";
        setTimeout(function () { button.textContent = "Copy"; }, 1500);
      });
    });
    place.appendChild(button);
  }
  var id = document.getElementById.bind(document);
  copies(id("study-text"), id("study"));
  copies(id("remake-text"), id("remake-text") && id("remake-text").parentNode);

  // A link into something folded unfolds it, and everything around it.
  function unfold() {
    var at = location.hash.length > 1 && id(decodeURIComponent(location.hash.slice(1)));
    var fold = at && at.closest("details:not([open])");
    if (!fold) { return; }
    for (; fold; fold = fold.parentElement.closest("details:not([open])")) { fold.open = true; }
    at.scrollIntoView();
  }
  addEventListener("hashchange", unfold);
  // The same link once more changes no hash.
  document.addEventListener("click", function (event) {
    var link = event.target.closest && event.target.closest("a[href^='#']");
    if (link && link.getAttribute("href") === location.hash) { unfold(); }
  });
  unfold();

  // Paper unfolds nothing, so all of it is unfolded before.
  var closed = [];
  addEventListener("beforeprint", function () {
    closed = Array.prototype.filter.call(document.querySelectorAll("details"), function (fold) { return !fold.open; });
    closed.forEach(function (fold) { fold.open = true; });
  });
  addEventListener("afterprint", function () {
    closed.forEach(function (fold) { fold.open = false; });
  });
})();
