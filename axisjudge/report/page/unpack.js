// Takes the program out of its packet, once a page.
(async () => {
  if (globalThis.axisjudgeSort) return;
  globalThis.axisjudgeSort = () => {}; // the program sorts the tables that are there when it comes
  const packet = atob(document.getElementById("axisjudge-sorting").textContent);
  const bytes = Uint8Array.from(packet, (letter) => letter.charCodeAt(0));
  const program = document.createElement("script");
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  program.textContent = await new Response(unpacked).text();
  document.head.append(program);
})();
