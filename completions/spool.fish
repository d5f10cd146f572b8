# Completion of spool for fish 3.1 and newer. It goes into a directory of $fish_complete_path. What
# fits is asked of the spool that is on the line.

# What the shell will make of a word, as far as fish has not undone the quotes: a ~ or a $name in
# front. A command substitution is not run.
function __spool_expand
    for word in $argv
        if string match -qr '^~(/|$)' -- $word
            printf '%s\n' (string replace '~' -- $HOME $word)
        else if set -l parts (string match -r '^\$([A-Za-z_][A-Za-z0-9_]*)(.*)$' -- $word)
            set -l name $parts[2]
            printf '%s\n' "$$name$parts[3]"
        else
            printf '%s\n' $word
        end
    end
end

function __spool_complete
    set -l words (__spool_expand (commandline -opc))
    # A quote that is open is closed to be undone.
    set -l raw (commandline -ct)
    set -l current (string unescape -- $raw; or string unescape -- $raw"'"; or string unescape -- $raw'"')
    set current (__spool_expand "$current")
    set -l program $words[1]
    set -e words[1]
    set -l lines
    begin
        set lines (command $program __complete all $words "$current" </dev/null)
    end 2>/dev/null
    set -l prefix ''
    set -l paths ''
    while string match -q ':*' -- $lines[1]
        switch $lines[1]
            case ':prefix *'
                set prefix (string sub -s 9 -- $lines[1])
            case :files :dirs
                set paths $lines[1]
        end
        set -e lines[1]
    end
    if test (count $lines) -gt 0
        printf '%s\n' $prefix$lines
    end
    set -l rest (string sub -s (math 1 + (string length -- "$prefix")) -- "$current")
    switch $paths
        case :files
            set lines (__fish_complete_path $rest)
        case :dirs
            set lines (__fish_complete_directories $rest '')
        case '*'
            return
    end
    if test (count $lines) -gt 0
        printf '%s\n' $prefix$lines
    end
end

complete -c spool -f -a '(__spool_complete)'
