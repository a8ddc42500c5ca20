some words
