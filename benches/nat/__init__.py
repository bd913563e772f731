"""Conversion of whole images of SEVIRI, beside their floor and satpy."""
