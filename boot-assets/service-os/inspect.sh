# shellcheck shell=sh
# Only to be looked at.

run_inspect() {
  inspect_machine
  report_neighbours
  finish_well inspect
}
