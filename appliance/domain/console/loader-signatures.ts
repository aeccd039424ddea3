// What boot loaders print: iPXE, shim, GRUB and the EFI stub of Linux.

import { atStage, type ConsoleSignature } from './signature.ts';

const SECURE_BOOT =
  'Use shim, GRUB and a kernel that are signed by the same distribution, and keep them at versions that the firmware has not revoked.';
const NETWORK =
  'Check the cable, the VLAN and the MTU, and that the machine reaches the appliance. coldiron trail NODE shows its requests.';
const FILES = 'Check the boot files: coldiron assets verify.';
const REINSTALL = 'Boot it in rescue to look at the disk, or deploy it again.';

const GRUB_ERRORS = 'GRUB 2, grub-core/kern/err.c, grub_print_error';

export const LOADER_SIGNATURES: readonly ConsoleSignature[] = atStage('loader', [
  {
    id: 'ipxe-no-address',
    severity: 'error',
    has: 'No configuration methods',
    pattern: /No configuration methods\s{1,3}succeeded/,
    means: 'iPXE got no address by DHCP',
    advice: NETWORK,
    source: 'iPXE, src/usr/ifmgmt.c, ifconf; the text is of src/net/netdevice.c, EADDRNOTAVAIL_CONFIG',
    example: 'Configuring (net0 52:54:00:77:00:02)... No configuration methods succeeded (http://ipxe.org/040ee119)',
  },
  {
    id: 'ipxe-exec-format',
    severity: 'error',
    has: 'ipxe.org/2e0',
    pattern: /Exec format error \(https?:\/\/ipxe\.org\/2e0[0-9a-f]{5}\)/,
    means: 'iPXE fetched a file that is of no type it can start',
    advice: FILES,
    source: 'iPXE, src/core/image.c, image_probe (ENOEXEC)',
    example: 'Could not boot: Exec format error (http://ipxe.org/2e008001)',
  },
  {
    id: 'ipxe-error',
    severity: 'error',
    has: 'ipxe.org/',
    pattern:
      /^(?!.{0,200}No configuration methods)(?!.{0,200}Exec format error \().{0,200}\(https?:\/\/ipxe\.org\/[0-9a-f]{8}\)/,
    means: 'iPXE reports an error',
    advice: `The page at the printed address explains the number. ${NETWORK}`,
    source: 'iPXE, src/core/errno.c and src/hci/strerror.c, strerror',
    example: 'http://10.77.0.1:8080/boot/ipxe/boot.ipxe... Connection timed out (https://ipxe.org/4c0a6092)',
  },
  {
    id: 'shim-refused',
    severity: 'error',
    has: 'Security Violation',
    pattern: /(?:Verification failed|Verify failed|ERROR).{0,40}Security Violation|Security Violation\s{0,4}$/,
    means: 'Secure Boot refuses the program that shim wants to start',
    advice: SECURE_BOOT,
    source: 'shim, shim.c, verify_image and its error screen (EFI_SECURITY_VIOLATION, 0x1A)',
    example: 'Verification failed: (0x1A) Security Violation',
  },
  {
    id: 'shim-revoked',
    severity: 'error',
    has: 'SBAT self-check failed',
    pattern: /SBAT self-check failed/,
    means: 'the firmware has revoked this version of shim',
    advice: 'Use a newer shim: coldiron assets build.',
    source: 'shim, shim.c, efi_main: verify_sbat_section',
    example: 'Something has gone seriously wrong: SBAT self-check failed: Security Policy Violation',
  },
  {
    id: 'shim-unverified',
    severity: 'error',
    has: 'Bootloader has not verified',
    pattern: /Bootloader has not verified loaded image/,
    means: 'GRUB started a kernel past shim, and shim stopped the machine',
    advice: SECURE_BOOT,
    source: 'shim, replacements.c, exit_boot_services',
    example: 'Bootloader has not verified loaded image.',
  },
  {
    id: 'shim-no-grub',
    severity: 'error',
    has: 'start_image() returned',
    pattern: /start_image\(\) returned (?!Success)\S/,
    means: 'shim cannot start the loader that it has fetched',
    advice: FILES,
    source: 'shim, shim.c, init_grub',
    example: 'start_image() returned Not Found',
  },
  {
    id: 'grub-bad-signature',
    severity: 'error',
    has: 'error: ',
    pattern:
      /^error: .{0,120}(?:bad shim signature|has invalid signature|prohibited by secure boot policy|verification requested but nobody cares)/,
    means: 'GRUB refuses a file that is not signed for Secure Boot',
    advice: SECURE_BOOT,
    source: 'GRUB 2, grub-core/kern/efi/sb.c, shim_lock_verifier_write, and grub-core/kern/verifiers.c',
    example: 'error: bad shim signature.',
  },
  {
    id: 'grub-network',
    severity: 'error',
    has: 'error: ',
    pattern:
      /^error: .{0,120}(?:timeout reading|couldn't send network packet|no server is specified|couldn't autoconfigure)/,
    means: 'GRUB does not reach the server that it loads files from',
    advice: NETWORK,
    source: 'GRUB 2, grub-core/net/net.c and grub-core/net/tftp.c',
    example: "error: timeout reading `/boot/service-os-x86_64/initrd'.",
  },
  {
    id: 'grub-out-of-memory',
    severity: 'error',
    has: 'error: ',
    pattern: /^error: .{0,80}out of memory/,
    means: 'GRUB has too little memory for the kernel and the initial file system',
    advice: 'Check the memory of the machine: GRUB needs about twice the size of the initrd in one piece.',
    source: 'GRUB 2, grub-core/kern/mm.c, grub_malloc',
    example: 'error: out of memory.',
  },
  {
    id: 'grub-no-disk',
    severity: 'error',
    has: 'error: ',
    pattern:
      /^error: .{0,80}(?:no such device|no such partition|no such disk|unknown filesystem|disk .{1,60} not found)/,
    means: 'GRUB does not find the disk or the file system that it was installed for',
    advice: REINSTALL,
    source: 'GRUB 2, grub-core/kern/disk.c, grub-core/kern/fs.c and grub-core/commands/search.c',
    example: 'error: no such device: 1a2b3c4d-0000-4000-8000-000000000001.',
  },
  {
    id: 'grub-error',
    severity: 'warning',
    has: 'error: ',
    pattern:
      /^error: (?!no suitable video mode found)(?!.{0,120}(?:bad shim signature|invalid signature|secure boot policy|nobody cares|timeout reading|network packet|no server is specified|couldn't autoconfigure|out of memory|no such|unknown filesystem|disk .{1,60} not found)).{3,200}\.$/,
    means: 'GRUB reports an error',
    advice: REINSTALL,
    source: GRUB_ERRORS,
    example: "error: file `/boot/vmlinuz-6.1.0-55-amd64' not found.",
  },
  {
    id: 'grub-rescue',
    severity: 'error',
    has: 'grub rescue>',
    pattern: /^grub rescue>/,
    means: 'GRUB cannot read its own files and waits for commands',
    advice: REINSTALL,
    source: 'GRUB 2, grub-core/kern/rescue_reader.c',
    example: 'grub rescue>',
  },
  {
    id: 'grub-prompt',
    severity: 'warning',
    has: 'grub>',
    pattern: /^grub>/,
    means: 'GRUB has no configuration to boot from and waits for commands, or somebody has opened its command line',
    advice: REINSTALL,
    source: 'GRUB 2, grub-core/normal/main.c',
    example: 'grub>',
  },
  {
    id: 'coldiron-start-failed',
    severity: 'error',
    has: 'Coldiron: the start failed',
    pattern: /^Coldiron: the start failed/,
    means: 'GRUB could not load the kernel or the initial file system from the appliance',
    advice: FILES,
    source: 'Coldiron, templates/grub/start.cfg',
    example: 'Coldiron: the start failed, so the next boot entry follows in 60 seconds.',
  },
  {
    id: 'efi-stub-error',
    severity: 'error',
    has: 'EFI stub: ERROR',
    pattern: /EFI stub: ERROR: .{3,200}/,
    means: 'the kernel cannot be started by the firmware',
    advice: FILES,
    source: 'Linux, drivers/firmware/efi/libstub, efi_err',
    example: 'EFI stub: ERROR: Failed to load initrd: 0x800000000000000e',
  },
]);
