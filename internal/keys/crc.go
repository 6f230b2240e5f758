package keys

// polynomial is that of CRC16-XMODEM: x^16 + x^12 + x^5 + 1.
const polynomial = 0x1021

// table holds the checksum of every byte. It is computed, because 256 numbers in the source
// could not be proofread.
var table = func() (t [256]uint16) {
	for i := range t {
		crc := uint16(i) << 8
		for range 8 {
			carry := crc & 0x8000
			crc <<= 1
			if carry != 0 {
				crc ^= polynomial
			}
		}
		t[i] = crc
	}
	return t
}()

func crc16(s string) (crc uint16) {
	for i := range len(s) {
		crc = crc<<8 ^ table[byte(crc>>8)^s[i]]
	}
	return crc
}
