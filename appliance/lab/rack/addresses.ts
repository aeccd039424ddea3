// The addresses in a rack. All addresses of a machine follow from its number.

export const BOOT_PREFIX = '10.77.0.0/16';
/** The appliance's address. */
export const SERVER_ADDRESS = '10.77.0.1';
export const BRIDGE_ADDRESS = `${SERVER_ADDRESS}/16`;
export const BOOT_POOL = { from: '10.77.1.1', to: '10.77.1.250' } as const;

/** The bridge for second network cards. */
export const WORK_BRIDGE = 'rack1';
export const WORK_PREFIX = '10.78.0.0/16';
export const WORK_BRIDGE_ADDRESS = '10.78.0.1/16';

/** The rogue DHCP server's address. */
export const ROGUE_ADDRESS = '10.77.66.1/16';
export const ROGUE_RANGE = '10.77.66.10,10.77.66.250,255.255.0.0,2m';

export const bmcAddress = (number: number): string => `10.77.100.${number}`;
export const bootAddress = (number: number): string => `10.77.10.${number}`;
export const workAddress = (number: number): string => `10.78.10.${number}`;

/** On loopback, inside the namespace. */
export const inBandPort = (number: number): number => 9000 + number;
