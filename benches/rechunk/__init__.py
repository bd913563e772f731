"""The race of rechunkers: one array into other chunks, in bounded memory."""
