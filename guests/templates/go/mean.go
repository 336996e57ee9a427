package main

import "bytes"

// Mean of the digits in `mean:1,2,3`; false if the text is something else.
func Mean(text []byte) (int, bool) {
	digits, is := bytes.CutPrefix(text, []byte("mean:"))
	if !is {
		return 0, false
	}
	sum, count := 0, 0
	for _, digit := range digits {
		if digit < '0' || digit > '9' {
			continue
		}
		sum += int(digit - '0')
		count++
	}
	return sum / count, true // the planted fault: there may be no digits
}
