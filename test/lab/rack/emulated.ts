/**
 * For the kernel command line of an emulated machine. Linux counts the ticks of its timer during some 60 ms at boot and panics when there
 * are too few ("IO-APIC + timer doesn't work"), which happens when the host gives the machine no processor for so long.
 */
export const EMULATED = 'no_timer_check';
