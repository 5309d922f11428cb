"""Argument lists, read as each vLLM release reads them."""
