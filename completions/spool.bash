# Completion of spool for bash 4.4 and newer. Installed as bash-completion/completions/spool; without
# the package bash-completion, source it. What fits is asked of the spool that is on the line.
# shellcheck shell=bash

# __spool_unquote WORD: what the shell will make of it, to $REPLY: quotes, backslashes, a ~ in front,
# $NAME and ${NAME}. A command substitution is not run.
__spool_unquote() {
	local word=$1 char='' quote='' name
	REPLY=
	if [[ $word =~ ^(~[A-Za-z0-9_.-]*)(/.*)?$ ]]; then
		eval "REPLY=${BASH_REMATCH[1]}"
		word=${BASH_REMATCH[2]}
	fi
	while [[ -n $word ]]; do
		char=${word:0:1}
		word=${word:1}
		case $quote$char in
		"''" | '""') quote= ;;
		"'"?) REPLY+=$char ;;
		"'" | '"') quote=$char ;;
		\\ | \"\\)
			# In double quotes a backslash escapes these few only.
			if [[ $quote && ${word:0:1} != [\\\"\$\`] ]]; then
				REPLY+=\\
			fi
			REPLY+=${word:0:1}
			word=${word:1}
			;;
		'$' | '"$')
			if [[ $word =~ ^(([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\}) ]]; then
				name=${BASH_REMATCH[2]}${BASH_REMATCH[3]}
				REPLY+=${!name-}
				word=${word:${#BASH_REMATCH[1]}}
			else
				REPLY+='$'
			fi
			;;
		*) REPLY+=$char ;;
		esac
	done
}

# __spool_words: the words up to the cursor, unquoted, to the caller's array `words`, and to `kept`
# what is typed of the current one in front of the piece that readline replaces: it parts words at
# `=` and `:` too. Redirections are none of spool's words.
__spool_words() {
	local line=${COMP_LINE-} at=0 i piece gap raw='' head='' list=() skip=
	local point=${COMP_POINT-${#line}}
	for ((i = 0; i <= COMP_CWORD; ++i)); do
		piece=${COMP_WORDS[i]-}
		gap=${line:at}
		gap=${gap%%[!$' \t\n']*}
		if [[ ${line:at+${#gap}:${#piece}} == "$piece" && -n $line ]]; then
			((at += ${#gap}))
			if ((i == COMP_CWORD && at + ${#piece} > point && at <= point)); then
				piece=${piece:0:point-at}
			fi
			((at += ${#piece}))
			[[ $gap ]] && gap=yes
		else
			# There is no line to compare with: a word of = or : alone sticks to its neighbours.
			line=
			gap=yes
			if [[ $piece == [=:]* || $raw == -*[=:] ]] && ((i > 1)) && [[ $raw ]]; then
				gap=
			fi
		fi
		if ((i > 0)) && [[ $gap ]]; then
			list+=("$raw")
			raw=
		fi
		head=$raw
		raw+=$piece
	done
	# Behind a = or : readline replaces what follows, which is nothing yet.
	if [[ $piece =~ ^[=:]+$ && $COMP_WORDBREAKS == *"${piece: -1}"* ]]; then
		head=$raw
	fi
	words=()
	for piece in "${list[@]}"; do
		if [[ $skip ]]; then
			skip=
		elif [[ $piece =~ ^([0-9]*|&)[\<\>][\<\>\&\|]*(.*)$ ]]; then
			[[ ${BASH_REMATCH[2]} ]] || skip=yes
		else
			__spool_unquote "$piece"
			words+=("$REPLY")
		fi
	done
	__spool_unquote "$raw"
	words+=("$REPLY")
	__spool_unquote "$head"
	kept=$REPLY
}

_spool() {
	local IFS=$' \t\n' REPLY words kept lines=() prefix='' paths='' current
	COMPREPLY=()
	__spool_words
	current=${words[-1]}
	mapfile -t lines < <(command "${words[0]}" __complete prefix "${words[@]:1}" 2>/dev/null </dev/null)
	while [[ ${lines[0]-} == :* ]]; do
		case ${lines[0]} in
		':prefix '*) prefix=${lines[0]#:prefix } ;;
		:files) paths='file' ;;
		:dirs) paths='directory' ;;
		esac
		lines=("${lines[@]:1}")
	done
	if ((${#lines[@]} > 0)); then
		lines=("${lines[@]%%$'\t'*}")
		lines=("${lines[@]/#/"$prefix"}")
		COMPREPLY=("${lines[@]#"$kept"}")
		if ((${#COMPREPLY[@]} == 1)) && [[ ${COMPREPLY[0]} == *= ]]; then
			compopt -o nospace 2>/dev/null
		fi
	elif [[ $paths && $prefix == "$kept" ]]; then
		# readline's own completion of paths quotes best.
		if [[ $paths == file ]]; then
			compopt -o default 2>/dev/null
		else
			compopt -o dirnames 2>/dev/null
		fi
	elif [[ $paths ]]; then
		compopt -o nospace 2>/dev/null
		mapfile -t lines < <(compgen -A "$paths" -- "${current#"$prefix"}")
		for current in "${lines[@]}"; do
			[[ -d $current ]] && current+=/
			printf -v current %q "$current"
			COMPREPLY+=("${prefix#"$kept"}$current")
		done
	fi
}

complete -F _spool spool
