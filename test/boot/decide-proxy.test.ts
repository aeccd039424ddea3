import { describe, expect, it } from 'vitest';
import { because } from '../../appliance/boot/because.ts';
import type { ClientProgram } from '../../appliance/boot/client-facts.ts';
import { decideBootServer, decideProxy } from '../../appliance/boot/decide-proxy.ts';
import type { LeaseRequest } from '../../appliance/boot/leases/lease-request.ts';
import type { NextStage } from '../../appliance/boot/next-stage.ts';
import { requestOf } from './leases/lease-fixtures.ts';

const LOADER: NextStage = {
  kind: 'loader',
  file: 'ipxe.efi',
  transport: 'tftp',
  starts: 'ipxe',
  because: because('asked-by-name'),
};
const NOTHING: NextStage = { kind: 'nothing', because: because('operating-system') };

describe('beside another DHCP server', () => {
  it.each<[string, LeaseRequest['type'], ClientProgram, NextStage, string]>([
    ['firmware gets its boot file', 'discover', 'firmware-pxe', LOADER, 'proxy-offer'],
    ['HTTP firmware gets its boot file', 'discover', 'firmware-http', LOADER, 'proxy-offer'],
    ['iPXE gets its boot file', 'discover', 'ipxe', LOADER, 'proxy-offer'],
    ['an operating system gets no reply', 'discover', 'os', LOADER, 'not-a-boot-client'],
    ['firmware without a loader gets no reply', 'discover', 'firmware-pxe', NOTHING, 'nothing-to-boot'],
    ['a REQUEST is for the server that assigns addresses', 'request', 'firmware-pxe', LOADER, 'proxy-without-lease'],
    ['so is a RELEASE', 'release', 'os', LOADER, 'proxy-without-lease'],
  ])('%s', (_, type, program, stage, expected) => {
    expect(decideProxy(requestOf({ type }), program, stage).because).toBe(expected);
  });
});

describe('on the port of the boot server', () => {
  it.each<[string, LeaseRequest['type'], ClientProgram, NextStage, string]>([
    ['a REQUEST of firmware is answered', 'request', 'firmware-pxe', LOADER, 'boot-server'],
    ['a REQUEST of iPXE is answered', 'request', 'ipxe', LOADER, 'boot-server'],
    ['a DISCOVER is not', 'discover', 'firmware-pxe', LOADER, 'not-a-boot-client'],
    ['an operating system is not', 'request', 'os', LOADER, 'not-a-boot-client'],
    ['a client with nothing to boot is not', 'request', 'firmware-pxe', NOTHING, 'nothing-to-boot'],
  ])('%s', (_, type, program, stage, expected) => {
    expect(decideBootServer(requestOf({ type }), program, stage).because).toBe(expected);
  });
});
