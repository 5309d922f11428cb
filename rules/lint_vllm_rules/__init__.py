"""The built-in rules: one module a rule, one folder a family."""
