startTheme();
startBackends();
startCharts();
startViewers();
startLinks();
