// High-speed links are assigned by host before they are used. A profile that uses them is not installed on a host without an assignment: it
// would come up without its fabric, and nothing would say so.

import type { Profile } from '../domain/catalogue.ts';
import type { Fleet } from '../inventory/fleet.ts';

export function roceProblems(
  fleet: Pick<Fleet, 'roceOf'>,
  profile: Pick<Profile, 'name' | 'roce'> | null,
  { site, hostname }: { readonly site: string | null; readonly hostname: string },
): string[] {
  if (!profile?.roce || (site !== null && (fleet.roceOf(site, hostname)?.links.length ?? 0) > 0)) return [];
  return [`profile ${profile.name} uses high-speed links (roce: true), and none are assigned to ${hostname} (roce:)`];
}
