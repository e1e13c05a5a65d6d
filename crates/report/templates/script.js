// A nicety only: a button that copies the study file. Without script the text is simply there.
(function () {
  var text = document.getElementById("study-text");
  if (!text || !navigator.clipboard) { return; }
  var button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", function () {
    navigator.clipboard.writeText(text.textContent).then(function () {
      button.textContent = "Copied";
      setTimeout(function () { button.textContent = "Copy"; }, 1500);
    });
  });
  document.getElementById("study").appendChild(button);
})();
