function beginTimeline() {
  const parent = document.getElementById("timeline");
  followTheme(parent);
  mount(parent, new Timeline(JSON.parse(document.getElementById("timeline-of").textContent)).element);
}

beginTimeline();
