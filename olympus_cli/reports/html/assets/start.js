startTheme();
startBackends();
startTables();
if ("DecompressionStream" in window) { // since 2023: what is compressed is left out before
  startCharts();
  startViewers();
} else {
  $$(".chart, .readout").forEach((part) => { part.hidden = true; });
}
startLinks();
