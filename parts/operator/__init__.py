"""The commands of `deeds` for operators."""
