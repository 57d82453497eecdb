"""Every library that follows the Array API standard, by its namespace."""
