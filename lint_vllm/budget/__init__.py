"""The shared engine: what one GPU holds, item by item, and whether a launch starts."""
