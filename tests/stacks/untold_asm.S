/* untold_asm.S -- hand-written functions with and without unwind information; see untold.h.
 * Runs: in untold.c.
 * SPDX-License-Identifier: Apache-2.0 */
	.text

#ifdef __x86_64__

	.macro function name
	.globl \name
	.type \name, @function
	.p2align 4
\name:
	.endm

	function asm_told
	.cfi_startproc
	subq $24, %rsp
	.cfi_adjust_cfa_offset 24
	call *%rsi
	addq $24, %rsp
	.cfi_adjust_cfa_offset -24
	ret
	.cfi_endproc

	function asm_fp
	pushq %rbp
	movq %rsp, %rbp
	call *%rsi
	popq %rbp
	ret
	.globl asm_fp_end
asm_fp_end:

	function asm_fp_large
	pushq %rbp
	movq %rsp, %rbp
	subq $32, %rsp
	call *%rsi
	leave
	ret
	.globl asm_fp_large_end
asm_fp_large_end:

	function asm_bare
	subq $24, %rsp
	call *%rsi
	addq $24, %rsp
	ret

	function asm_wild
	pushq %rbp
	movl $64, %ebp
	call *%rsi
	popq %rbp
	ret

	/* fp points to what looks like a frame record but is two numbers. */
	function asm_astray
	pushq %rbp
	subq $32, %rsp
	movq untold_astray(%rip), %rax
	movq %rax, 8(%rsp)
	leaq 24(%rsp), %rbp
	movq %rbp, (%rsp)
	movq %rsp, %rbp
	call *%rsi
	addq $32, %rsp
	popq %rbp
	ret

#else

	.macro function name
	.globl \name
	.type \name, %function
	.p2align 4
\name:
	.endm

	function asm_told
	.cfi_startproc
	sub sp, sp, #32
	.cfi_adjust_cfa_offset 32
	str x30, [sp, #16]
	.cfi_offset x30, -16
	blr x1
	ldr x30, [sp, #16]
	.cfi_restore x30
	add sp, sp, #32
	.cfi_adjust_cfa_offset -32
	ret
	.cfi_endproc

	function asm_fp
	stp x29, x30, [sp, #-16]!
	mov x29, sp
	blr x1
	ldp x29, x30, [sp], #16
	ret
	.globl asm_fp_end
asm_fp_end:

	function asm_fp_large
	stp x29, x30, [sp, #-64]!
	mov x29, sp
	blr x1
	ldp x29, x30, [sp], #64
	ret
	.globl asm_fp_large_end
asm_fp_large_end:

	function asm_bare
	sub sp, sp, #32
	str x30, [sp, #16]
	blr x1
	ldr x30, [sp, #16]
	add sp, sp, #32
	ret

	function asm_wild
	stp x29, x30, [sp, #-16]!
	mov x29, #64
	blr x1
	ldp x29, x30, [sp], #16
	ret

	function asm_astray
	stp x29, x30, [sp, #-48]!
	add x29, sp, #40
	adrp x9, untold_astray
	ldr x9, [x9, :lo12:untold_astray]
	str x9, [sp, #24]
	str x29, [sp, #16]
	add x29, sp, #16
	blr x1
	ldp x29, x30, [sp], #48
	ret

#endif

	.section .note.GNU-stack, "", %progbits
