// The two blobs of catalogue_compiler, as read-only data.
    .section .rodata
    .balign 64
    .global firstfault_catalogue_begin
firstfault_catalogue_begin:
    .incbin FIRSTFAULT_CATALOGUE
    .global firstfault_catalogue_end
firstfault_catalogue_end:
    .byte 0
    .balign 64
    .global firstfault_database_begin
firstfault_database_begin:
    .incbin FIRSTFAULT_DATABASE
    .global firstfault_database_end
firstfault_database_end:
    .byte 0
    .section .note.GNU-stack,"",%progbits
