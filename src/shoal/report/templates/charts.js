for (const chart of charts) {
  Plotly.newPlot(chart.id, chart.data, chart.layout, { responsive: true, displayModeBar: false });
}
// On paper two charts stand side by side: they are drawn at that width before the page is printed, and anew after it.
const widths = (wide) => charts.map((chart) => {
  const place = document.getElementById(chart.id);
  const room = place.closest(".charts").classList.contains("wide") ? wide : (wide - 20) / 2;
  return Plotly.relayout(place, { width: room, autosize: false });
});
window.addEventListener("beforeprint", () => widths(680));
window.addEventListener("afterprint", () => {
  for (const chart of charts) { Plotly.relayout(chart.id, { width: null, autosize: true }); }
});
