import { describe, expect, it } from 'vitest';
import { because } from '../../appliance/policy/because.ts';
import type { ClientProgram } from '../../appliance/policy/client-facts.ts';
import { decideBootServer, decideProxy } from '../../appliance/policy/decide-proxy.ts';
import type { FirstStage } from '../../appliance/policy/first-stage.ts';
import type { LeaseRequest } from '../../appliance/policy/lease-request.ts';
import { requestOf } from './lease-fixtures.ts';

const LOADER: FirstStage = {
  kind: 'loader',
  file: 'ipxe.efi',
  transport: 'tftp',
  starts: 'ipxe',
  because: because('asked-by-name'),
};
const NOTHING: FirstStage = { kind: 'nothing', because: because('operating-system') };

describe('beside another DHCP server', () => {
  it.each<[string, LeaseRequest['type'], ClientProgram, FirstStage, string]>([
    ['firmware hears what to boot', 'discover', 'firmware-pxe', LOADER, 'proxy-offer'],
    ['HTTP firmware hears what to boot', 'discover', 'firmware-http', LOADER, 'proxy-offer'],
    ['iPXE hears what to boot', 'discover', 'ipxe', LOADER, 'proxy-offer'],
    ['an operating system hears nothing', 'discover', 'os', LOADER, 'not-a-boot-client'],
    ['firmware without a loader hears nothing', 'discover', 'firmware-pxe', NOTHING, 'nothing-to-boot'],
    ['a REQUEST is for the server that gives addresses', 'request', 'firmware-pxe', LOADER, 'proxy-without-lease'],
    ['so is a RELEASE', 'release', 'os', LOADER, 'proxy-without-lease'],
  ])('%s', (_, type, program, stage, expected) => {
    expect(decideProxy(requestOf({ type }), program, stage).because).toBe(expected);
  });
});

describe('on the port of the boot server', () => {
  it.each<[string, LeaseRequest['type'], ClientProgram, FirstStage, string]>([
    ['a REQUEST of firmware is answered', 'request', 'firmware-pxe', LOADER, 'boot-server'],
    ['a REQUEST of iPXE is answered', 'request', 'ipxe', LOADER, 'boot-server'],
    ['a DISCOVER is not', 'discover', 'firmware-pxe', LOADER, 'not-a-boot-client'],
    ['an operating system is not', 'request', 'os', LOADER, 'not-a-boot-client'],
    ['who has nothing to boot is not', 'request', 'firmware-pxe', NOTHING, 'nothing-to-boot'],
  ])('%s', (_, type, program, stage, expected) => {
    expect(decideBootServer(requestOf({ type }), program, stage).because).toBe(expected);
  });
});
