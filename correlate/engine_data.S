// The blobs of catalogue_compiler, as read-only data.
    .section .rodata
    .balign 64
    .global firstfault_catalogue_begin
firstfault_catalogue_begin:
    .incbin FIRSTFAULT_CATALOGUE
    .global firstfault_catalogue_end
firstfault_catalogue_end:
    .byte 0
    .global firstfault_pages_begin
firstfault_pages_begin:
    .incbin FIRSTFAULT_PAGES
    .global firstfault_pages_end
firstfault_pages_end:
    .byte 0
    .section .note.GNU-stack,"",%progbits
