"""Generator of the demo: a small bicycle shop, its customers, four scripted agents and the faults planted in them."""
