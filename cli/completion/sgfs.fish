# Completion for fish: the program itself knows what may follow (cli/complete.c).
function __sgfs_complete
    set -l words (commandline -opc) (commandline -ct)
    command sgfs help --complete $words[2..-1] 2>/dev/null
    or __fish_complete_path (commandline -ct)
end
complete -c sgfs -f -a '(__sgfs_complete)'
