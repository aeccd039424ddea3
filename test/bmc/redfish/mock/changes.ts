// The changes that a mock machine supports, and how each firmware refuses the others.

import type { BmcFaults, MockMachine } from './machine.ts';
import { answer, type MockAnswer, refusal } from './mock-answers.ts';
import type { Json } from './resources.ts';
import type { VendorProfile } from './vendors.ts';

const TARGET = 'BootSourceOverrideTarget';
const ENABLED = 'BootSourceOverrideEnabled';
const MODE = 'BootSourceOverrideMode';

export function changeBoot(vendor: VendorProfile, machine: MockMachine, boot: unknown, faults: BmcFaults): MockAnswer {
  const requested: Record<string, unknown> = typeof boot === 'object' && boot !== null ? { ...boot } : {};
  const { [TARGET]: target, [ENABLED]: enabled, [MODE]: mode } = requested;
  if (mode !== undefined && vendor.mode === 'read-only') return refusal(400, 'iLO.2.14.PropertyNotWritable');
  if (vendor.mode === 'required' && [target, enabled, mode].includes(undefined)) {
    return refusal(400, 'Base.1.8.PropertyMissing');
  }
  if (target !== undefined && !vendor.bootTargets.includes(String(target))) {
    return refusal(400, 'Base.1.8.PropertyValueNotInList');
  }
  if (enabled === 'Continuous' && !vendor.persistent) return refusal(400, 'Base.1.8.PropertyValueNotInList');
  if (faults.bootIgnored) return answer(204);
  if (target !== undefined) machine.boot.target = String(target);
  if (enabled !== undefined) machine.boot.enabled = String(enabled);
  if (mode !== undefined) machine.boot.mode = String(mode);
  else if (vendor.mode === 'reverts') machine.boot.mode = 'Legacy';
  if ('HttpBootUri' in requested) {
    machine.boot.httpBootUri = typeof requested.HttpBootUri === 'string' ? requested.HttpBootUri : null;
  }
  return answer(204);
}

export function changeAccount(
  machine: MockMachine,
  vendor: VendorProfile,
  id: string,
  body: Json,
  faults: BmcFaults,
): MockAnswer {
  const user = machine.users[Number(id) - 1];
  if (!user) return refusal(404, 'Base.1.8.ResourceMissingAtURI');
  const password = String(body.Password);
  if (password.length < vendor.minPasswordLength || !/[0-9]/.test(password)) {
    // The message of the registry repeats the value.
    const words = `The value ${password} for the property Password is of a different format than the property can accept.`;
    return refusal(400, 'Base.1.8.PropertyValueFormatError', words);
  }
  if (!faults.passwordIgnored) {
    user.password = password;
    user.mustChangePassword = false;
  }
  return answer(200, { '@Message.ExtendedInfo': [{ MessageId: 'Base.1.8.Success', Severity: 'OK' }] });
}

export function changeLight(
  vendor: VendorProfile,
  machine: MockMachine,
  where: 'system' | 'chassis',
  body: Json,
  faults: BmcFaults,
): MockAnswer {
  const name = vendor.light === 'active' ? 'LocationIndicatorActive' : 'IndicatorLED';
  const place = vendor.light === 'chassis-led' ? 'chassis' : 'system';
  if (place !== where || !(name in body)) return refusal(400, 'Base.1.8.PropertyUnknown');
  const value = body[name];
  if (vendor.light === 'chassis-led' && value === 'Blinking') return refusal(400, 'Base.1.8.PropertyValueNotInList');
  if (!faults.lightIgnored) machine.light = value === true || value === 'Lit' || value === 'Blinking';
  return answer(204);
}

export function changeDrive(vendor: VendorProfile, machine: MockMachine, body: Json): MockAnswer {
  if (vendor.media.fields !== null) return refusal(405, 'Base.1.8.OperationNotAllowed');
  machine.image = typeof body.Image === 'string' ? body.Image : null;
  return answer(204);
}

export function insertOrEject(vendor: VendorProfile, machine: MockMachine, path: string, body: Json): MockAnswer {
  const { fields } = vendor.media;
  if (fields === null) return refusal(404, 'Base.1.8.ActionNotSupported');
  if (path.endsWith('EjectMedia')) {
    machine.image = null;
    return answer(204);
  }
  const missing = fields.needs.find((name) => !(name in body));
  if (missing !== undefined) return refusal(400, 'Base.1.8.ActionParameterMissing', `${missing} is missing`);
  const refused = fields.refuses.find((name) => name in body);
  if (refused !== undefined) return refusal(400, 'Base.1.8.ActionParameterNotSupported', `${refused} is unknown`);
  if (machine.image !== null) return refusal(400, 'Base.1.8.ResourceInUse');
  machine.image = String(body.Image);
  return answer(204);
}
