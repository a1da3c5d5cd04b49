// Wide tables scroll sideways in an element of the theme: the keyboard must reach it.
document$.subscribe(() => {
  for (const wrap of document.querySelectorAll(".md-typeset__scrollwrap")) wrap.tabIndex = 0;
});
