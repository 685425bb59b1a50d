"""Model folders of hexatagger. There is nothing to import: entry points name the folders."""
