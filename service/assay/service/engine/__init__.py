"""The engine: items in, results out, whatever their completions do. No web framework here."""
