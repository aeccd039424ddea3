# The results of tasks: kept in a file of $state/tasks until they are reported. The first line of the file is `begun`,
# `succeeded`, `failed` or `over`, the others are the output. Sets reported_all.
reported_all=no

# report ID FILE: reports a result. Afterwards only the id is kept, so that the task is not run again.
report() {
  result_status=$(head -n 1 "$2")
  sed 1d "$2" | head -c 65000 >"$scratch/output"
  as_node "/node/v1/tasks/$1/result" 30 --data-urlencode "status=$result_status" \
    --data-urlencode "output@$scratch/output"
  case $status in
    # A result that is rejected now would be rejected again, and must not block the next ones.
    200 | 400 | 404 | 409 | 413)
      [ "$status" = 200 ] || fault refused "the result of task $1 was rejected ($status): $(reason)"
      printf 'over\n' | place "$state/tasks/$1" 600
      return 0
      ;;
    *)
      [ "$status" = 000 ] || fault refused "the result of task $1 could not be reported ($status): $(reason)"
      refused_as_node
      return 1
      ;;
  esac
}

# finish ID STATUS, with the output on standard input. A result that cannot be stored is still reported.
finish() {
  { printf '%s\n' "$2" && cat; } >"$scratch/result"
  reported_all=no
  if place "$state/tasks/$1" 600 <"$scratch/result"; then
    report "$1" "$state/tasks/$1" && reported_all=yes
  else
    report "$1" "$scratch/result"
  fi
}

# Reports results that were not reported before the agent ended. A task that had begun is not run again: its progress is unknown.
report_unreported() {
  [ "$reported_all" = no ] || return 0
  for file in "$state/tasks"/*; do
    [ -f "$file" ] || continue
    id=${file##*/}
    # A file that was being written when the agent ended.
    case $id in *[!0-9a-f-]*)
      rm -f "$file"
      continue
      ;;
    esac
    case $(head -n 1 "$file") in
      over) find "$file" -mtime +7 -exec rm -f {} + ;;
      begun)
        printf 'the agent ended while this task was running\n' >"$scratch/output-of-task"
        finish "$id" failed <"$scratch/output-of-task"
        ;;
      succeeded | failed) report "$id" "$file" ;;
      *) rm -f "$file" ;;
    esac || return 1
  done
  reported_all=yes
}
