# shellcheck shell=sh
# Mode inspect: reports the facts and changes nothing.

run_inspect() {
  inspect_machine
  report_neighbours
  finish_done inspect
}
