package servers

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// SocketOf names the socket of this machine that has an address of IPv4 and is connected. [HasSocket] knows the name.
func SocketOf(of net.Addr) (string, error) {
	addr, ok := of.(*net.TCPAddr)
	if !ok || addr.IP.To4() == nil {
		return "", fmt.Errorf("%v is no TCP address of IPv4", of)
	}
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return "", err
	}
	// The kernel prints the address as one number, in the order of bytes of the machine.
	own := fmt.Sprintf("%08X:%04X", binary.NativeEndian.Uint32(addr.IP.To4()), addr.Port)
	for line := range strings.Lines(string(table)) {
		if fields := strings.Fields(line); len(fields) > 9 && fields[1] == own && fields[9] != "0" {
			return "socket:[" + fields[9] + "]", nil
		}
	}
	return "", fmt.Errorf("no socket has %v", of)
}

// HasSocket reports whether a process has a socket.
func HasSocket(pid int, socket string) bool {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, file := range files {
		if target, _ := os.Readlink(file); target == socket {
			return true
		}
	}
	return false
}
