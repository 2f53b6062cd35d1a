"""Self-contained pages: tables and charts for audits, training reports and results. No scripts, no links."""
