package dev

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
)

// usualPage is where a program serves its page unless it is told otherwise.
const usualPage = "127.0.0.1:9400"

// pageAddress are the arguments that say where the program serves its page: none where the user says it, or where the usual
// address is free; else a free port, which stays the same over edits, so that a browser finds the page again.
func (d *dev) pageAddress() ([]string, error) {
	for _, argument := range d.Arguments {
		if name, _, _ := strings.Cut(strings.TrimLeft(argument, "-"), "="); name == "http" {
			return nil, nil
		}
	}
	if os.Getenv("EO_HTTP") != "" {
		return nil, nil
	}
	if d.page == "" {
		address, err := freeAddress(usualPage)
		if err != nil {
			return nil, err
		}
		d.page = address
	}
	return []string{"--http", d.page}, nil
}

// freeAddress is the address, or one with another port if somebody listens there.
func freeAddress(address string) (string, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		if l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return "", fmt.Errorf("no address is free for the page: %w", err)
		}
	}
	return l.Addr().String(), errors.Join(l.Close())
}
