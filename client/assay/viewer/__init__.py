"""Pages that stand alone: tables and charts for audits, training reports and results. No script, no link."""
