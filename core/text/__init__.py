"""Texts that others wrote, made safe for tables, terminals and spreadsheets."""
