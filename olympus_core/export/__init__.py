"""Exported programs: a traced and lowered function that can be stored, called and differentiated.

`trees`      the structures of arguments and results as JSON
`container`  the bytes of an exported program
`checks`     the safety checks
`exported`   `Exported`, `export` and `deserialize`
`specs`      symbolic types for arguments
"""
