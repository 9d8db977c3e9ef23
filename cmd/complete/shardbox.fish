# fish completion for shardbox, printed by: shardbox --completions=fish

function __shardbox
    set -l words (commandline -opc | string replace -r -- '^~/' $HOME/)
    set -l typed (commandline -ct | string unescape)
    set -l answer ($words[1] --complete (math (count $words) - 1) $words[2..] "$typed" 2>/dev/null |
        string split0)
    set -l lead $answer[2]
    set -l value (string sub -s (math (string length -- "$lead") + 1) -- "$typed")
    set -l found $answer[3..]
    switch "$answer[1]"
        case file
            set found (__fish_complete_path "$value" | string match -v -r -- '-shard-\d{5}(\t|$)')
        case directory
            set found (__fish_complete_directories "$value")
        case words
            set found (string replace -r -- '=(\t|$)' '$1' $found)
            string match -q -- '-*' "$typed"; or set found (string match -v -- '-*' $found)
    end
    set -q found[1]; and printf '%s\n' $lead$found
end

complete -c shardbox -f -a '(__shardbox)'

