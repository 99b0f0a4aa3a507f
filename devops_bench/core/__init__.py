"""What every layer needs and no domain knows: errors, diagnostics, registries, files, clocks."""
