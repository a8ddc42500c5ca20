startTheme();
startTables();
startLinks();
